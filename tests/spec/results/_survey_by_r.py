"""A simulated survey of 983 people in 40 clusters and 4 strata, and what R says of it.

The numbers are those of the package survey 4.1-1 in R 4.2.2: ``svydesign`` with these columns, then
``svymean`` (with deff="replace"), ``svyby``, ``svycontrast`` and ``svyglm`` (quasibinomial). The answer
behind Warner's question (p = 3/4) is (warner - 1/4) / (1/2). Its regression is the pseudo-likelihood of
the hidden answer, with the variance ``svytotal`` of the influence values.
"""

from __future__ import annotations

import base64
import zlib

import numpy as np

_SIZES = [
    27,
    22,
    28,
    24,
    28,
    20,
    29,
    27,
    32,
    30,
    29,
    19,
    22,
    27,
    25,
    30,
    24,
    29,
    24,
    28,
    31,
    20,
    19,
    20,
    22,
    21,
    22,
    20,
    28,
    27,
    24,
    20,
    20,
    21,
    18,
    20,
    27,
    20,
    31,
    28,
]

_PACKED = (
    "c-rk(_diwtAHVaQbC+?+xLo9BT&v7TDrL(mN@*u5Eg7YhqDXxzBqXz)G>uSXCnO`|8d;IOu5qt*zvl|+^Cx^CpZ7hF",
    "_j%9P>p5QMhx_S(imYd$lG}%tQ_F7*WTo#&^HZ>W!YRg&R$9CAsH^_tT=8yP8yv`rIBD)DT2ixizc*7(KgRV;(4-JG",
    "?8xI<e?FW1(qzH!D(aG@HElPlJg%!7s1IC!u99-AK+1WG-`C|Dg@(7SQ=EK(AF6uoCts2_Pdzwosv!u4&m0fGJ0?4B",
    "9!K*nmDY+Yj_ntukA<d&OJ4Rt<%RWY5%0*|Lfz$?5J-Ksr6qlnshsRAY3qpm`NW3nj~k=$h3`jK(?ux)+2DPjgi}XY",
    "sXcX7?mDIh>_8z?L#B%+HB<HE8fYj8WuNq`QcLc@{)y&cf=1CP<)T^dus(5(D>EQZX2L%ARDm5^n8z7KA%>MdElPD>",
    "(nHEFCA`1J+T`=z^N9Yr!=Ehu{2%w<CjUB;vd&SeIFb7O%=#J8=7X%GAL%={o7C3_?hcskEquwia@EKwB+o_BVdaeR",
    "NdD|vF;+~Fe)){z!|<=?ZFg<RRfvg2wAcUKnPka%OA9-B&yJa&;hx-nRX^)wzkD*!HOE)acIUU*N7=-f$b8V<dm#SS",
    "KX-}*{JoMU-kI(csZI#jaCu*(wMqN&_vf#Ql{}Jnbj`#z3nqso<Q!?rH>U2BV5afha=6&25c}0&;4A6Q7XwItrpPFT",
    "u2sofl77N)+Ya8e7oS6F@T=a~^(MIuylsCpIbGH-_&yDDFV-~prjPqGATrp@`D=lghh*VxhH}Rb_L``(PO*_C{CAEA",
    "N>~{^FLILl5WKC?AtZpQN1bvE_RtQrX+OGk$Sd8!rR_oibIp?;+wz7A+nNzAl`qqF>qHE6G|%c2pdB*3k%hMX*KRPM",
    "wLA85-ke?ie9Z<CyN2`>oS0@-UV`Z}+n*fOJ%P7+sKTY4&86!qx;wAd`C~JfsBJu+&C@v}A{k^0x>)y7|CRZTvoRsL",
    "wA(X>sJxac_Wa}7MMb)yCUX8dE_aO8^K{SAP#v23qrVOWKAbU5Sa-?sMKPtF>U^OkzCr<TA9T@w8h+Jsw%TORt_)gT",
    "HKs#&@7_Hx<G+~-#W%4+KSS0JPV8IRCyX${=3E?{Ef)F`plNgc^ktJ+&9=B<eE$9m+P)^>uFITVhkZsub;s{n-kfxF",
    "d}+5{J6Tu$SUpdPgiDD3#mvAEc{eY^=cXaZvn7X{Z!=77i-#ucM!d$gmX(f-UEB?HrwN{|sy*$O@`4_^J1_cCVs1dC",
    "4yqyEU8pwFMOfHc=;M%qE<;P4<Lg(QpiuSZ+|BDT?gG0V+@yr@HxlW$sbM42l+cjW?vE{j0nWvW=8>-JIpwXfUG$(g",
    "dff!xH^%I@2LNxexL{A-A@exKdEL#Xr|<Gbj@y&TGEYCW9T$C1IOE(~xco=J-hXa|jo_w|>Jo6e&A#jHD(rP{Sbj{%",
    "2YYfe*8sX@A;>aHe9q+}p~D%flebrU7Jm^hV+aq~vJX9Il*kldB)y*a@jCITJf8;Xjbkj$*UIO4K<-7xtNiyH(a8tx",
    "@Xyzs>s8E>4s1A9b>hGk{kQvgUY&l&Z{AW`s+@H>dbg}|*`;mjvP5&S2T277le>%?GEu8{o@{t}P<H=_Q*zZQ;eBg+",
    "PMHwPdfwe?9nKYb8d>ibm^z()@5Ay@mtc~v)H|xN?fKI)&dE2fJ8&d=NXnS(CiXu8qUQ-K74C=`)l`k=YFsaI`_eVw",
    "s#*u#s%I-t#p(V0+*ViZ<HfPNt9?#9`gr3yojg`BwTY(ZZU6iv>FPIahH2rk$t|N14uUg5?vSeCTUP3Zk3SS5m;nr5",
    "M~yw#Q>R<c{S^HKgo3scuZ5J+Y=OEgLt?0Laf)$w;NaUxXQd(Yhxw5{YDdaHS!?=*Y&0UPBF?Ib=TD@Pw`caPKQ-&(",
    "RUlnfew3_VwU+miEA>D%*;Q_^C3r~sRwixYNCK;+dXIVFaD-ZQnf4)MK`m;n28oibdukfE`1R1F|G;SJ0Mt0OrgilW",
    "%Oum+zdD5x>Bi?i9aPSJ*VbYkzio(7lsc7e5u?A){9dla8pRgXqTN}&R)-VVfiG6dMkk4Fdty*;MrQ5t9HdA;usxyB",
    "<a8J+e<6i_7nE=DS?8X=fnX#0TefEN(-k{ohLn<M?5CXBEjmhyl|kKkd)0HEdtH3W`#f(Tv_^o)>EC&yLOCob@>FT5",
    "M8PFfb$jjeyIg`Vr$@0Oh9rAKwo`TMcles`p^^UK15j}<?`7Y)c+oB(t})7}>|3r?t%3yPo)WXVS*^kwNp*TGY53g5",
    "!$0S~!f~8jjz{|24>->e4~lsFL6f$V6faQYOH(m6`}{tyls3XqgWI?~Z>JBMV*>l4%geV_m?1Yh1Z)<(vPz1s5#e(6",
    "Wc|wr$C%eDw2hNcFVGL@S=#F?{62x`LJrnDU)u?5eSfE)H~mqRySSSIIqC(E)6*8F5eBq4(#o)t@-ItF4mEFeh@#oP",
    "FphQ{I{0AMEk14Q4y&=sT{~`?igm}FPz*lwZP`ZG*VuPkBIK;gi|Wy#yGU+l3M{jmK3XPO@dVxd$<|?OO|wV83|@Gz",
    "rS01J?S-iv#^mzw%LZza^0iX?V>}x^T{^3O&RLzrdaNWl(4b}N(D<n1u{mwCz-q_c_N8w7uTI{X9sLlG{(wfI&?qDt",
    "jlv+2NE8yqeNb~f5{pG+AuJXHps{enfLII~0)XF}X!wUkW6-GI4W439a1a!7E(&t~jhY{0FaYLv3=9Nd;UNIPLo8-4",
    "I(!j}!vbh{jhlm;2!;Ngf%~B5bD+`a-#rEc=YpZ3P#83~VdfU$7iR9x+&LtA9wisT?;zYB3&07{b97)*a5^|E3cx~W",
    "E+7mR0wDkda5xec2jXxL4+H`rNFreH01kpc_!=5S!;rBc7J$)%0DKDzV7NaF%nLxnoItq20AW5{vH%VMxXdvS8i#?8",
    "f@oL(E@~_Ya-(2i(g1`3Q1jI0up-g(+_`gZ4-fzli|3|;QGhT;2!b^NAv}y9CIX{|AwdwF5)b2@0}TP_IXmEB$T=~7",
    "dkja!;m8DtfW;9>I0A&j0R$|82*Eaka8x252jFphL=p+Y69FQ;PsU-1ARg8NB*Gmm7>I!>aHT?Xm4t}_1UNMW;P4;`",
    "PK^Qaa18j3#sFLi;J`3{08hjbcnMe@2qF-15Dt&S6W{?K41&l5PYJwu9s&v8#gj-d1%Rs#*B-9Su-)8(0r3Q`vRDWY",
    ";$U}Rlkjs2b0NWX$UO{CxmnQw8eW2v!ybYF9+m=T2_u9E5WEcG0B(UJVO{3lD6Zz{xuWMLhK1&4=Sqy8GYG<9=V}bb",
    "z;z5WS3fAsZ@=INJ8v4Aix;+&D+<?N7zwNtw^-pfTrw~!cmlu(;fBJZ02Ew%b3<;qz{p{l<|uQo&J`5E4aogWxS7%1",
    "v;bEII2OcZ$E_XMY8WsqDqM&V76%tHz^zK|_l5Yc{n!3$|8Ff#aV+Ct+i`<NGn<VMd5-5xGH=pdv@#i~iRMP3m%?#s",
    "P|n8ZkLAz$bf(-v6nTMB#=gLfB;Yn9-{rfWKBxLg$#RWWW!<N0KkBMN3e!zPGbASWch?HBTv}2`a?iN6OsASN?@L|~",
    "Ay!nj(9>4+bub_L;60-#IVuIh-kLV8qZc;++&5f)Q|!o8`lapiXG|J5BqF2&--~~5ID_@jBp{*mV_P~runOln`x!n-",
    "mlGlBcp=x!tkd5!WPgP8#?yNw-pdv)i)@xm7YGcr;I%6lkGhw;CL&=^+hwrVL{2HR38{X6=Mi;v^m<X(YA08N)<n%S",
    "MlanSm6F@`7~gtR424DOjG9<Ix&FHMYE5eGgT6Q76@~7&qZZ=-c-hLm1^19T(m4_a^buN(zRs(nPi6ga+nn(`w055>",
    "P4XrLdx?U%x!3fnmPhKnxwVaX|DtpV<*td@*Fa9~s_30o>uVyvl4F!CRQ5gj9^sv}!_~j7&(qJpfa#mT&pOY$_ndbI",
    "CjU?f!l}iX;~<nAEsa2|J0zoa-GXtgx~6<XV+t->g6f{(dh*bP(5BUV(%DT~rm6=T8`X5ej6Ym2dh~NbIq_G&XCzPU",
    "g>Tzqzh4_bYjvKDzL9sb*U%d9+n7IkD_d=og|QMst5X7Sed2gwt?b1;3W1&V$_Ur3pCRg2;r>w#fc*09$^iL;qQ}C5",
    "C8?};-M>Qa7KwDGcpT^1U&Yqm+0hmEZmVa}?SQ?zMEGPMDVbu*ixQM89QlWw+3N9rcIO|R89q+gH2%`nU_xZ=39aO#",
    "QLk6rz8$n8&+4wtuAj_99GV#m#SA5HR*I4D6*(vV&U4aNeb8^)6$VjHrHHAX-go-q3EOwyenrUM$T`7lBe$$%-<`qH",
    "XE8fmf@hzS^1TsX&ZG*?I0cU`kH)+VwN@9ej8FO)x1(H}`E&inbm7~vX;)t?^8nJ^GhTdpX6Tk#XOta#P5#IYJAeI>",
    "JWuD#X%hT(EEJD4y<P0#6_Nvk&qM7((oj^^mO`JWJFR~l?}VP9&c5^G`{2)SlQF_Wb6IbC?>t}U&*9vNSr6~2u$6iU",
    "q28;R7MTKu-){0f@(ER(I8b`JJz^`<?rvAtDc`knhdMV@cT-g5lO8M4!|tZ^Urc-L?pI{)aUx<h<>0d9;;&kLff5Is",
    "W=BVC10Eud-uKEf0^>&MNt9w%4MTnwEg9Ysa(-`pyv&sEHd)h5mDwqfotkvCG2XmF0j2ycv(-KR)0J`e6Gy*i1en`K",
    "pc2?NpW=M_rp{N7FgURxw*#piyA-R<-Cg;u+6D!uq|~1C{o<dN$rdHASn(Mw!T$iTUFSzygj7e_5;MD}#)M_+h#Hih",
    "t_cxDUN&9%*EXn9Q-n0tF9dS1Vsa8q6RjdEWTiPH(|zkCNG#@rd|L^!Ax99JSuvzaFO&8ZMoeXhH&0IJf)ed3)uyH8",
    "hY_>-v&snR<zw`cRhi!;hQI-4$uPEHnr8|rx@=0FRx!lspE1ML&Je`LIGOR}!F~=&C3a)`3ZY+pYLw5s6#Dq&#u2Md",
    "VTeyip>LV+gdmGwa+E<sbuq_s%u1Hk;5G@yum|Zt-(Y3c%xF(;Z&gp%Pz%1bR{)908L{t@!LS=uvzBl8N$n;#h;UfX",
    "_(uoibp)jdBgbS+l(t&&@ze`R;ih}qH%w}3{E%R_teucViPo*+&!1Mc6eY{gC|fl&FDn_N4R^@5O$g7_j<%~*Y!}fL",
    ";IwU;m8}W;ycSPKi1LpSyVM7a*>Z}CbTI`iMVs8+(7+KDk?)sTJKEg3lDvL7jm+EA*+LhfA^IPw^-{#A82b(Q+Iuxb",
    "S!)m^#irUkC5;XhsEfQ4#fuWFrS=MTZx+{(7b7zUuq0lhElzFy9y!{udI8vuQd}=0v$AvbXF(P@U)e}RQhFT%h5iOH",
    "dpnhs`Xx4CwrNyupc01@ntm$rm3$gTbSu|j_inZ_trehEp*H51OX~G>Pqt5?*a}Q`%{VVFAyJ;h*JSotgooZO#b-a;",
    "xMqqcZ=|+^nNDF%H50{r*)tL!W`f0-CPWglb+SWSf<r1E|HAjH!CI<ms+HC`Y{Gh4&Z=O7DV2jCb>(X(mQA+xx~*b^",
    "-$B-4L4{^en3os&45?7l>QWQ?O^PTjJ<BA)@1uQUuaIayjF@s%ZF75n-pmYdV{3Ulr_l)AB1rG7A&cMz#b2c%z6gI|",
    "<+0Z!G~w`*z!!1$^vCgjLKO;KDK<XIz*SB)pm1~+kuqKXI%`yUKyYw7l!LTgJ_fGU6(=Z>cJEy^s4b;pE?VS5D&toZ",
    "X0_GP6wG8)C-#^K7!s&VlHfs6%WtygmXlkD@md9PGE_Ai#>!!S<xzV<UU?douWk7hRU9L}Mq*|{cwIkQNn>_OT268k",
    "QSPLu6^CNsEvshH*R_((;uW9fG3(VcBN%rJp_g%5XYd4yA}DPs+`3M1Sb#cCmeONS%T}xPU!aP7UDi24z%`BFNqT+s",
    "{bOhjujpXuC>F(MOd*L<Y{qFS_G0;@$*ze;UFoX5<pk1(VX_>31zA&f1JV7c0sJ4L)12C)uu%q$;2_}V_Ybi!L~!87",
    "?YXnL19MA=g~{(ZV*Uze;k9s#vvBLrk@-^#*OzAd-OXQ{Kg0Qxjk9oh9@t{``51`5wm6F$oQ3(HhTtq-UFhc_%x}%Z",
    "T^Mi{4=q8qn3J>g;c)&iT~OpNVdoeA$gptckA92s|CW}sh-yhN&XS;it^X_IqIOF-aTb^@(Qi?`MK|V;BNj&sJAcgN",
    "AeQjvAeJb}`J>B%Jcy+}auEN<v`}h)LjG}YA<j|*mR1d75gK9%ioa@Uu@;w_v4sAjADn;fEve$AL&V=!aQ?RB&(2Z<",
    "m!?_rEi5VK1@Zo>>VJh@l=I(oma;+o_gVk<S^xK0|KEMq?USpMOX4_~DQg`8?_)|S2E6)NHrWNrMA?}n(;EzVu-_^~",
    "An8JtJj1P?cB=k}{n1Zyj>dODl+VXw`(Nz>5AF*K>kdb*Q&-X>pLN)8wbA`syx!Oi-6=Ew01@(d$ez3RTpiK1W%+EK",
    "NGqRS*Hy(iR;dD~`43rN!2|Zv>MvImSP*Iz5BL}rD|o$8v3RSqIzTOuXJ0sG=ZImmf~a>=cpv3~_?g5Mwu7A620^@Y",
    "Sa)^!F`*(zqvq75Iz)`it?SQ&99CSeaf<&T5CjRnLib=1wIHJUjYGntQ(N<N4RJ@qqxYXFNmsHF&IfhT`h&x#_#PmZ",
    "2ilaLHZ+g|zI@c5wdV7+Mqo7K+*XDYbDzpwMaas6X>Oj^-LXooiAAPy*@#inHfq$hbz?F?x|^$gj~5@QYZFlm>g$-0",
    "F4P4akjuM;f+q9;%Fnc8YIP3pB8H`Q3@6Auqd9%3mt5_ndS?^TNy56Y_Pr(F{{X_ij0g",
)


def _columns() -> dict[str, np.ndarray]:
    """The columns (983,): weights and x in ten-thousandths are kept as planes of their bytes."""
    data = np.frombuffer(zlib.decompress(base64.b85decode("".join(_PACKED))), np.uint8)
    n = sum(_SIZES)
    numbers = data[: 8 * n].reshape(2, 4, n).transpose(0, 2, 1).copy().view("<i4")[..., 0] / 1e4
    female, answer, warner = np.unpackbits(data[8 * n :])[: 3 * n].reshape(3, n).astype(int)
    cluster = np.repeat(np.arange(1, 41), _SIZES)
    return {
        "weight": numbers[0],
        "x": numbers[1],
        "female": female,
        "answer": answer,
        "warner": warner,
        "cluster": cluster,
        "stratum": (cluster - 1) // 10 + 1,
    }


COLUMNS = _columns()
DESIGNS = {
    "weights_only": {"weights": "weight"},
    "strata_weights": {"weights": "weight", "strata": "stratum"},
    "clusters_weights": {"weights": "weight", "cluster": "cluster"},
    "strata_clusters_weights": {"weights": "weight", "cluster": "cluster", "strata": "stratum"},
    "unweighted_clusters": {"cluster": "cluster"},
}
# share: of answer 1, its error, its design effect; hidden: behind Warner's question, with error;
# men: the same of men; difference: women less men; logistic: answer ~ x + female, with errors.
BY_R = {
    "weights_only": {
        "share": (0.455550080923777, 0.0177577808343063, 1.2485179924205),
        "hidden": (0.391314130069887, 0.0356199544538726),
        "men": (0.258870731131372, 0.0493879967055283),
        "difference": (0.272108142181746, 0.070635463523154),
        "logistic": (
            [-0.239193688288181, 0.458294030092238, -0.0889842539012732],
            [0.103911274225812, 0.0742432544003163, 0.147259815316333],
        ),
        "degrees": 982,
    },
    "strata_weights": {
        "share": (0.455550080923777, 0.0176964434860585, 1.23990784858089),
        "hidden": (0.391314130069887, 0.0355752242837626),
        "men": (0.258870731131372, 0.0493513020061939),
        "difference": (0.272108142181746, 0.0706889944557151),
        "logistic": (
            [-0.239193688288181, 0.458294030092238, -0.0889842539012732],
            [0.103886432162175, 0.0742043043248124, 0.146697275849357],
        ),
        "degrees": 979,
    },
    "clusters_weights": {
        "share": (0.455550080923777, 0.0213562837054234, 1.80579640963743),
        "hidden": (0.391314130069887, 0.0367402088499912),
        "men": (0.258870731131372, 0.0512822747649861),
        "difference": (0.272108142181746, 0.0700295806375006),
        "logistic": (
            [-0.239193688288181, 0.458294030092238, -0.0889842539012732],
            [0.101292796915261, 0.0750561293447386, 0.167427377129191],
        ),
        "degrees": 39,
    },
    "strata_clusters_weights": {
        "share": (0.455550080923777, 0.0202945852920622, 1.63071394268318),
        "hidden": (0.391314130069887, 0.0354512547794879),
        "men": (0.258870731131372, 0.0502316921284789),
        "difference": (0.272108142181746, 0.0713245770651552),
        "logistic": (
            [-0.239193688288181, 0.458294030092238, -0.0889842539012732],
            [0.10010070350995, 0.0742481235360998, 0.154894344337785],
        ),
        "degrees": 36,
    },
    "unweighted_clusters": {
        "share": (0.45676500508647, 0.0174815156610372, 1.20945326878082),
        "hidden": (0.354526958290946, 0.0396430168598713),
        "men": (0.222448979591837, 0.0491400185928479),
        "difference": (0.263352237446703, 0.0655259931123361),
        "logistic": (
            [-0.225168379269039, 0.449242653656714, -0.110738721427578],
            [0.0898473942114628, 0.0756085352014569, 0.13528972410146],
        ),
        "degrees": 39,
    },
}
# warner ~ x + female, of strata, clusters and weights.
HIDDEN_REGRESSION = (
    [-1.19957844422539, 0.579863036841122, 1.1799332832251],
    [0.292771451074587, 0.140812949530381, 0.349255158417931],
)
HIDDEN_LOG_LIKELIHOOD = -657.281608531068
